"""Who answers: `spec` finds a judge by its name, `chat` asks servers, `local` runs a model here,
`recorded` reads answers that were given before."""
