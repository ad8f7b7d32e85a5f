"""The modules that are mounted inside the sandbox. They import no other part of the kit and contain no secret."""
