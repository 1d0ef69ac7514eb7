"""What a run shows of itself: the progress line, boards, samples, summaries and the model card."""
