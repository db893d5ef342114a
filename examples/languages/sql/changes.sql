BEGIN;

INSERT INTO keeper (id, name, city) VALUES
    (1, 'Ada', 'London'),
    (2, 'Alan', 'Bletchley');

UPDATE cat SET keeper_id = 2 WHERE fur = 'ginger';

DELETE FROM cat WHERE keeper_id IS NULL;

COMMIT;
