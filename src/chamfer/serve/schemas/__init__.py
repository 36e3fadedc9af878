"""Request and response bodies, by topic; the OpenAPI document is generated from them."""
