"""Hunts as environments of other frameworks: thin modules over the public interface of the kit."""
