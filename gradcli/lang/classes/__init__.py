"""Classes that programs define: making them, and the native bases that they may have."""
