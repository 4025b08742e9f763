"""What language models replied: read leniently, checked, and made harmless."""
