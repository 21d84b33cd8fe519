"""Term tables mined from the documents of a study, without a model: acronyms, words that are written in two ways."""
