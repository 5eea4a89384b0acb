"""Access to models: HTTP, wire formats, addresses and keys, prices, user code and the Hugging Face hub."""
