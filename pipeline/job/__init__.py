"""What a deploy is to do, checked before anything long."""
