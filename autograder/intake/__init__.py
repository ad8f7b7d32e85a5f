"""What comes from outside is read here, before anybody believes it: archives, messages, tables, and whose each is."""
