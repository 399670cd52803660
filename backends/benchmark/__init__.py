"""How long calls take, and how many images a second: cases measured in turns, and what can be said of them."""
