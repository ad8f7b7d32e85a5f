"""The desk: a web service that takes hand-ins, grades them at once, and records every attempt."""
