"""What keeping modules in fp32 buys, where the rest is fp16 or int8."""
