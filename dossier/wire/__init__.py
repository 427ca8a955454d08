"""Talk to an OpenAI-compatible server and say exactly what came back, and when."""
