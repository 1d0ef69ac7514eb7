"""Other versions of training pairs, drawn anew in each epoch, with the links between their words."""
