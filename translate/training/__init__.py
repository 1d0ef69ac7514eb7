"""Training: the loop, one step, its loss, the schedules, the order of batches, and several processes."""
