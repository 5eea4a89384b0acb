"""Parsers of model replies: answers, written questions and instructions, records."""
