"""The curator as a durable server, its stores, the client of a device and a fleet simulator."""
