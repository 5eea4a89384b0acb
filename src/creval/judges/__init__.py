"""Who answers: `judge_spec` finds a judge by name, `chat` asks servers, `local` runs a model here."""
