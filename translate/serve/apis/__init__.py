"""The interfaces that programs speak: our own with links, and those of LibreTranslate and DeepL."""
