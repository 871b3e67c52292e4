"""HTTP: requests into calls of `games`, views and events into JSON. Never sees a game's state."""
