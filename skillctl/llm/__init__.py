"""The one seam behind which agents answer: language models through litellm, and commands."""
