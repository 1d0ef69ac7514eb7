#!/usr/bin/env bash
# Trains one model on several machines of a SLURM cluster, and resumes after the time limit:
#
#   sbatch scripts/slurm.sh model=transformer data=wmt14 run.name=wmt14
#
# Two minutes before the limit the run is saved and the job is queued again. The installation and the run's
# folder must be on a file system that all machines share. Adjust the lines below to the cluster.
#SBATCH --job-name=translate
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=32
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -euo pipefail

first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=90  # seconds to save before the processes are killed
srun torchrun --nnodes "$SLURM_JOB_NUM_NODES" --nproc-per-node "$SLURM_GPUS_PER_NODE" --max-restarts 3 \
    --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d --rdzv-endpoint "$first:29500" \
    --no-python translate train runtime="${RUNTIME:-ddp}" training.resume=true "$@" &
step=$!

save_and_queue_again() {
    kill -TERM "$step"
    wait "$step" || true
    scontrol requeue "$SLURM_JOB_ID"
}
trap save_and_queue_again TERM

wait "$step"
