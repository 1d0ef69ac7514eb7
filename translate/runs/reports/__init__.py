"""Reports of a run: terminal, TensorBoard, traces, the model card."""
