"""The modules that are bound into the sandbox. They import nothing else of the kit, and hold no secret."""
