"""Images as a deploy takes, makes and marks them."""
