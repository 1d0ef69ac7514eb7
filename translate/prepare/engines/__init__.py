"""What runs functions over batches and statements over tables: one machine, or a cluster."""
