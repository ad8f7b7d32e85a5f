"""Where student code runs, and the only part of the kit that starts processes for it."""
