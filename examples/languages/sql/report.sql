SELECT k.name, COUNT(*) AS cats, AVG(c.weight) AS weight
FROM keeper AS k
JOIN cat AS c ON c.keeper_id = k.id
WHERE k.city = 'Torino'
  AND c.born >= '2020-01-01'
GROUP BY k.name
HAVING COUNT(*) > 1
ORDER BY cats DESC, k.name;
