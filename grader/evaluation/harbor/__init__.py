"""Harbor task folders: an agent repairs the file in one container, and the kit judges it in another."""
