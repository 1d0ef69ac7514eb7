"""What is translated: texts, tagged texts and files, cut into sentences and put together again."""
