WITH monthly AS (
    SELECT shop, month, SUM(amount) AS turnover
    FROM sale
    GROUP BY shop, month
)
SELECT shop, month, turnover,
       turnover - LAG(turnover) OVER (PARTITION BY shop ORDER BY month) AS change
FROM monthly
ORDER BY shop, month;
