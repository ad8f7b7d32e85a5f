from mangling import running, write


def make(place, notebook):
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {"text/html": "<script>alert('forged')</script>"}},
        {"output_type": "display_data", "metadata": {}, "data": {"application/javascript": "alert('forged')"}},
        {"output_type": "stream", "name": "stdout", "text": "forged: 10 of 10 points"},
    ]
    for cell in running(notebook)["cells"]:
        cell["outputs"] = outputs
        cell["attachments"] = {"forged.svg": {"image/svg+xml": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}}
    notebook["metadata"] = {"title": "</title><script>alert('forged')</script>", "widgets": {"x": "<script>"}}
    return write(place, notebook)
