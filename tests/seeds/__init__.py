"""Facts of the two seed pages, and what a text lacks of them."""
