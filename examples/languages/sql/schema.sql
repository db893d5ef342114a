-- Cats and those who feed them.
CREATE TABLE keeper (
    id INTEGER PRIMARY KEY,
    name VARCHAR(80) NOT NULL,
    city VARCHAR(40)
);

CREATE TABLE cat (
    id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL,
    fur VARCHAR(20) DEFAULT 'black',
    keeper_id INTEGER REFERENCES keeper (id)
);

CREATE INDEX cat_keeper ON cat (keeper_id);
