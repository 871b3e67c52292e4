"""How fast it is, beside what it is built of and what one would use instead. See README.md."""
