"""What an engine adds to a deployment."""

ENGINE_FILE = "model.engine"
RECORD_FILE = f"{ENGINE_FILE}.json"
