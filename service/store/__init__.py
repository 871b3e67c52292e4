"""Where games are kept. `base` is the port, `redis` the adapter, `codec` the bytes between them."""
