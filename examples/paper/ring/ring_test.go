package ring
