/**
 * Data for the password policy: passwords and words that attackers guess first. SOURCE: written for this project from
 * what is commonly known of leaked-password statistics (words, names, teams, keyboard patterns, defaults of products);
 * no list was copied. Lower case. Entries of fewer than 8 characters matter only with digits or signs around them.
 */

/**
 * Words that are rejected alone, with replaced letters (p@ssw0rd) or with digits and signs around them (Summer2024!).
 */
export const COMMON_WORDS: ReadonlySet<string> = new Set(
  `
  aaaa aaron abcabc abcd abcde abcdef abcdefg abcdefgh access accessdenied acdc adam admin adminadmin administrator airforce ajax alan albert alberto
  alejandro alessandro alexander always amanda amazon america american amy andrea andreas andrew android angel angela angels anna anthony antonio
  anything apollo apple april aragorn army arsenal arthur asdf asdfasdf asdfgh asdfghjkl asdqwe ashley asshole athena atlanta audi august austin
  australia autumn avengers azerty babe baby babyboy babygirl bacon bailey bambi banana bandit barbara barbie barcelona bart baseball basketball batman
  bayern beach bear bears beatles beethoven beijing bella benfica benjamin berlin betty beyonce bienvenue biggie bigtits biker biking billionaire billy
  birthday bitch bitches bitcoin blablabla blackberry blah blahblah blaze blink blinkblink blockchain blueberry bmw bobby bonjour boobs boston bradley
  brandon brazil brenda brian britney broncos bruce bryan buddy budweiser bulldog bulldogs bulls bullshit burger business buster butter butterfly caesar
  california callofduty camaro camping canada candy cannabis captain carl carlos carol cat catherine catwoman celtics champion changeit changeme
  changemenow charger charizard charles charlie cheese chelsea cherry cheryl chester chevrolet chevy cheyenne chicago chicken china chloe chocolate
  christ christian christine christmas christopher ciao cleopatra cleveland cobra cocacola cock coconut coffee coke college company computer computers
  contrasena contraseña cookie cookies cooper corinthians corona corvette cosmos counterstrike cowboy cowboys cricket crypto crystal cubs cunt cupcake
  cynthia daisies daisy dakota dallas dancer dancing daniel danielle darthvader darwin database david davidson davinci deadpool deborah debra december
  default delhi demo demodemo demon dennis denver desert destiny detroit developer developers devil diablo diamond diamonds dick discord docker doctor
  dodge dodgers dog doggy dollar dollars dolphin dolphins donald donna doom dorothy dortmund dota douglas dragon dragonball dragons dream dreamer dreams
  drummer drums ducati duke dumbledore eagle eagles easter eduardo edward einstein elephant elizabeth elvis emerald eminem engineer england enterprise
  eric ethan ethereum eugene evelyn everything facebook faith falcon falcons fantasy february fernando ferrari fire firefly fishing flamengo florida
  flower flowers football ford forest forever fortnite fortune fourtwenty france frances francesca francisco frank freedom friday frodo fuck fucker
  fuckme fuckoff fuckyou gabriel galaxy game gamer games gaming gandalf garfield gary george gerald germany ghost giants ginger giovanni giraffe giulia
  giuseppe gizmo gladiator gmail god godbless godisgood goku gold golden golf golfer goodbye goodluck goodmorning goofy google gorilla greenday gregory
  gryffindor guest guinness guitar guitarist gunner hacker hacking hackme hallo halloween halo hammer hans hardcore hardware harley harold harrypotter
  haslo hawk hawks heather heaven heineken helen hell hello hellohello hellokitty helloworld henry hercules hero heroes heslo hobbit hockey hogwarts
  hola holiday homer honda honey hope horny horse horses hotdog hotmail houston hulk hunter hunting hurricane hustler ice icecream iceman idiot ilovegod
  iloveher ilovehim iloveme iloveu iloveyou india instagram inter internet iphone ironmaiden ironman island italy jack jackdaniels jacob james janet
  january japan jason java javascript javier jean jedi jeffrey jennifer jeremy jerry jesse jessica jesus jesuschrist jewel joan joe john johnny joker
  jonathan jordan jose joseph joshua juan july june jungle jupiter jurgen justin juventus karen katherine kathleen kawasaki keith kenneth kevin keyboard
  killer kimberly king kingkong kitten kitty klaus knight kubernetes kyle lakers laptop larry laura lawrence leagueoflegends ledzeppelin legend legolas
  lemon letmego letmein letmeinnow liberty lightning lily linda linkedin linkinpark linux lion lions lisa liverpool lkjhgf login loki london lorenzo
  loser louis love lovely loveme lover loveyou lozinka lucky lucy luigi luis madonna madrid maggie magic magical manager manchester manutd march marco
  margaret maria marie marijuana marine marines mario mark marlboro martha marvel master matrix matteo matthew maverick max may mazda mcdonalds megadeth
  melissa mercedes mercury metal metallica mexico michael michelle mickey microsoft midnight miguel milan military million millionaire minecraft minnie
  miracle mnbvcxz molly monday money mongodb monitor monkey monster montana moonlight morpheus moscow motdepasse motherfucker motorola mountain mouse
  mozart mumbai music mustang mybaby mylove mypass mypasswd mypassword mysecret mysql mystery naked nancy napoleon naruto nascar natalie natasha nathan
  navy nemo neo neptune network never newpass newpassword newton newyork nicholas nicole nicotine ninja nintendo nirvana nissan nokia nopass nopassword
  nothing november nurse oakland ocean october odin office oldpassword onepiece opensesame oracle orange oscar overwatch packers pamela panther panthers
  paradise paris parola pass passcode passphrase passw passwd password passwort patricia patrick patriots paul peanut pearl pedro penguin penis pepper
  pepsi peter phantom philip phoenix phoenixes piano picasso pikachu pineapple pinkfloyd pizza planet playboy player playgirl playstation please poiuyt
  poiuytrewq pokemon police pooh porn pornstar porsche porto postgres potter presley prince princess printer private program programmer proofwright
  proverprover puppy pussy pussycat python qazwsx qazwsxedc qqqq quake queen qweasd qweasdzxc qweqwe qwerty qwertyui qwertyuiop qwertz rabbit racing
  rafael raiders rain rainbow ralph randy raven ravens raymond realmadrid rebecca redis redskins redsox ricardo rich rihanna river robert roberto robin
  roblox rock rocker rocknroll rockstar rocky roger rome ronald root rootroot rose roses roy ruby rugby russell russia rusty ruth ryan sadie salasana
  samantha samsung samuel samurai sandra santos sapphire sarah sasuke saturday saturn sausage savannah school scooby scoobydoo scorpion scott sean
  seattle sebastian secret secrets secure security senha september sergio server service sesame sex sexsex sexy shadow shakespeare shakira shark sharks
  sharon shit shrek sierra sifre signin signon silver simba simpson singer skateboard skywalker slayer slipknot slytherin smokey sniper snoopdogg snoopy
  snow snowball snowboard snowman soccer software soldier something sonic sophie spain spartan spartans spears spider spiderman spirit spock spring
  starcraft stargate starlight startrek starwars steam steelers stefan stephanie stephen steven storm strawberry stripper student stupid subaru sugar
  summer sunday sunflower sunrise sunset sunshine superadmin superman superuser support surfer surfing susan suzuki sweetheart sweetie swimming sydney
  sysadmin system teacher teamo temp temporary temppass tennis tequiero tequila terry test tester testing testtest texas thankyou thepassword thomas
  thor thorsten thunder thursday tiger tigers tigger timothy titan titans toby together tokyo toor topsecret tornado toronto toyota treasure trinity
  trojan trojans trustme trustno trustnoone tucker tuesday tupac turtle twitter tyler ubuntu united universe university unlock usa user username
  vacation vader valorant vampire vaultvault vegeta venus victoria vincent viper virginia vodka volleyball wachtwoord warcraft warrior watermelon wayne
  wednesday weed weekend welcome welcomeback welcomehome whatever whatsup whiskey whoami william willie willkommen windows winner winnie winter witch
  wizard wolf wolverine wolves worldofwarcraft wsxedc xbox xxxx xxxxxx yahoo yamaha yankees yoda yourpassword youtube zachary zaqwsx zaqxsw zelda zeus
  zombie zxcv zxcvbn zxcvbnm zzzz
`
    .trim()
    .split(/\s+/),
);

/** Whole passwords of at least 8 characters. */
export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(
  `
  !qaz2wsx !qaz@wsx 00000000 01234567 0123456789 0987654321 10101010 11111111 11223344 1122334455 112233445566 12121212 123123123 1231231234 123321123
  12341234 12344321 123454321 1234554321 12345654321 12345678 123456789 1234567890 12345679 1234abcd 1234asdf 1234qwer 123abc123 123qwe123 123qweasd
  12qwaszx 13579246 147258369 147852369 159357456 159753456 19841984 19851985 19861986 19871987 19881988 19891989 19901990 19911991 19921992 19931993
  19941994 19951995 1a2b3c4d 1a2b3c4d5e 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qaz2wsx3edc 1qaz@wsx 1qazxsw2 1qwertyuiop 20002000 20012001 20202020
  20212021 20222022 20232023 20242024 20252025 22222222 22446688 24681012 27182818 2wsx3edc 31415926 314159265 33333333 3edc4rfv 44444444 55555555
  66666666 741852963 77777777 789456123 789456123a 88888888 963852741 987654321 9876543210 99999999 a12345678 a123456789 a1b2c3d4 a1b2c3d4e5 aa123456
  aa12345678 aaa12345 abababab abc12345 abc123456 abc123abc abcabcabc abcd1234 abcdabcd access14 admin1234 admin@123 administrator1 alpine12 asd123asd
  asdasdasd asdf1234 autumn2024 baseball1 blink182 carpediem changeit1 changeme1 changeme123 charlie1 cisco123 company1 company123 computer1
  correcthorsebatterystaple database1 dbadmin123 december2024 default1 default123 demo1234 docker123 dododo12 donttellanyone dragon12 dragon123
  drupal123 elasticsearch football1 fuckyou1 fuckyou2 gitlab123 grafana1 guest123 guest1234 hahahaha hakunamatata iamawesome iamthebest idontknow
  ihatepasswords ihateyou iloveyou! iloveyou1 iloveyou2 ineedapassword internet1 jajajaja january2024 jenkins1 joomla123 jordan23 justdoit kubernetes1
  lalalala letmein! letmein1 letmein12 login123 loginlogin lolololo mamamama master12 master123 michael1 minioadmin monkey12 monkey123 mysecret1
  ncc1701d ncc1701e nevermind nopassword oracle123 p455w0rd p4ssw0rd p@ssw0rd p@ssword pa$$w0rd pa$$word papapapa passw0rd password! password01
  password1 password1! password12 password123 password123! password1234 password2 password99 passwordpassword postgres1 princess1 q12345678 q123456789
  q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 qazwsx12 qwe12345 qwe123qwe qweasd123 qweqweqwe qwer1234 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456
  qwertyuiop123 rabbitmq raspberry raspberrypi root1234 rush2112 s3cr3t123 sa123456 sapassword secret12 secret123 server123 shadow12 sonarqube
  spring2024 sqlserver starwars1 summer2020 summer2021 summer2022 summer2023 summer2024 summer2025 sunshine1 superman1 supersecret supersecret1 temp1234
  temppassword testing123 testpassword testtest1 thx1138a tomcat123 toor1234 topsecret1 trustinme trustno1 trustno1! user1234 username1 vagrant1
  welcome1 welcome1! welcome123 welcome@123 whatever1 whatthehell winter2020 winter2021 winter2022 winter2023 winter2024 winter2025 wordpress wordpress1
  xoxoxoxo youaremine z1x2c3v4 zaq12wsx zaq1xsw2 zxcv1234 zxczxczxc
`
    .trim()
    .split(/\s+/),
);
