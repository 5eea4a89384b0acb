"""Judges: `judge_spec` opens a judge by name, `chat` calls servers, `local` runs a model in this process."""
