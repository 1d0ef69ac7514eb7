"""What is said of a pair by a look at it alone, as pure functions over record batches."""
