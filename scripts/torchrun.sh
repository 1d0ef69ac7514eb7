#!/usr/bin/env bash
# Trains one model on all GPUs of a machine, or of several:
#
#   scripts/torchrun.sh model=transformer data=multi30k run.name=shared
#   PROCESSES=2 scripts/torchrun.sh runtime.device=cpu          two processes on the CPU
#   RUNTIME=fsdp scripts/torchrun.sh model.width=1024           each process holds a part of the model
#   NODES=2 MEET=host1:29500 scripts/torchrun.sh ...            on each of two machines, with a shared run.directory
#
# If a process is lost, all are restarted, at most RESTARTS times, and the run resumes from its last checkpoint.
# A run that was ended resumes when this script is started again.
set -euo pipefail

gpus=$(nvidia-smi --list-gpus 2>/dev/null | wc -l || true)
processes=${PROCESSES:-$((gpus > 0 ? gpus : 1))}
nodes=${NODES:-1}

if [ "$nodes" = 1 ]; then
    meeting=(--standalone)
else
    meeting=(--nnodes "$nodes" --rdzv-backend c10d --rdzv-endpoint "${MEET:?HOST:PORT of the first machine}")
fi

exec torchrun "${meeting[@]}" --nproc-per-node "$processes" --max-restarts "${RESTARTS:-3}" \
    --no-python translate train runtime="${RUNTIME:-ddp}" training.resume=true "$@"
