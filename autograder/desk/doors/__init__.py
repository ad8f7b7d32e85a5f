"""The doors: who somebody is, by a personal link, by JupyterHub or by a learning platform; and where the desk is."""
