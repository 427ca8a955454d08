"""What follows from records and is never typed: differences, verdicts, displays, references."""
