"""What every floor may use: the steps of a deploy by name, devices, the machine."""
