// Requests to the server. Each may be given up; an error has a sentence for the reader.

import { byId } from "./state.js";

const headers = () => (byId("key").value ? { Authorization: `Bearer ${byId("key").value}` } : {});

/** The answer to a request, in JSON. */
export async function ask(path, body, signal) {
  const options = body
    ? { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", ...headers() } }
    : { headers: headers() };
  let response;
  try {
    response = await fetch(path, { ...options, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is it still running?");
  }
  if (response.ok) return response.json();
  throw await refusal(response.status, () => response.json());
}

async function refusal(status, read) {
  if (status === 401 || status === 403) {
    byId("key-field").hidden = false;
    return new Error("This server wants a key: write it beside the languages.");
  }
  if (status === 429) return new Error("The server is busy. Try again in a moment.");
  try {
    const { error } = await read();
    return new Error(error.message || error);
  } catch {
    return new Error(`The server answers with the error ${status}.`);
  }
}

/** Send a file; tells the share that has been sent, and gives the address of its translation. */
export function send(file, { source, target }, onProgress) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ file, source, target })) form.append(name, value);
  if (byId("key").value) form.append("api_key", byId("key").value);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch tells no progress
    request.open("POST", "/translate_file");
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () => reject(new Error("The file could not be sent."));
    request.onload = async () => {
      const read = async () => JSON.parse(request.responseText);
      if (request.status === 200) resolve((await read()).translatedFileUrl);
      else reject(await refusal(request.status, read));
    };
    request.send(form);
  });
}
