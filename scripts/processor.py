"""The processor that a benchmark ran on."""

import platform
from pathlib import Path

ENGINES = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "VNNI",
    "avx512_bf16": "bfloat16",
    "amx_bf16": "AMX",
    "amx_int8": "AMX int8",
}


def processor() -> str:
    """Its name, family and model, and its engines for matrix products, as Linux knows them."""
    listed = Path("/proc/cpuinfo")
    if not listed.exists():
        return platform.processor() or platform.machine()
    lines = [line.partition(":") for line in listed.read_text(encoding="utf-8").splitlines()]
    facts = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    flags = facts.get("flags", "").split()
    engines = ", ".join(name for flag, name in ENGINES.items() if flag in flags)
    name, family, model = (facts.get(key, "?") for key in ("model name", "cpu family", "model"))
    return f"{name} (family {family}, model {model}; {engines or 'no known engines'})"
