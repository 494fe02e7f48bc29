"""Planning: expected errors of mechanisms, optimal parameters and recommendations, before anybody reports."""
