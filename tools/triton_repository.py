"""`zooport triton`, by the code of this checkout."""

from from_checkout import run

if __name__ == "__main__":
    run("triton")
