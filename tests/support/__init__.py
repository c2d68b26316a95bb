"""What tests of several directories share: the tiers, and small aggregations of a user's own."""
