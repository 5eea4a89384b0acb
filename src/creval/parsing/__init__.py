"""Model replies to data: answers, questions, instructions, records."""
